-- Reads what a job asks for out of Slurm's job_desc: account, user, and GPUs by type.

local M = {}

-- The fields that can hold GPUs, as "gres:gpu:a100:2" (Slurm 22.05) or "gres/gpu:a100=2" (later).
-- `gres` is the older name of tres_per_node.
local TRES_FIELDS = { "tres_per_job", "tres_per_node", "gres", "tres_per_socket", "tres_per_task" }
local MULTIPLIERS = { k = 1024, m = 1024 ^ 2, g = 1024 ^ 3, t = 1024 ^ 4, p = 1024 ^ 5 }

-- Returns the count that Slurm reads in a word, nil when the word is a type.
local function read_count(word)
    local digits, suffix = word:lower():match("^(%d+)([kmgtp]?)i?b?$")
    if not digits then
        return nil
    end
    return tonumber(digits) * (MULTIPLIERS[suffix] or 1)
end

-- Adds the GPUs of one request ("gpu", "gpu:2", "gpu:a100", "gpu:a100:2") to `counts`; those
-- without a type are kept under "".
local function add_item(counts, item)
    local name, rest = item:gsub("^%s*gres[:/]", ""):match("^([^:=]+)[:=]?(.*)$")
    if name ~= "gpu" then
        return
    end
    local gres_type, count = "", 1
    if rest ~= "" then
        local first, second = rest:match("^([^:=]*)[:=]?(.*)$")
        if read_count(first) then
            count = read_count(first)
        else
            gres_type = first
            count = second == "" and 1 or read_count(second) or 1
        end
    end
    if count > 0 then
        counts[gres_type] = (counts[gres_type] or 0) + count
    end
end

-- Returns the GPUs by type in a field such as "gres:gpu:a100:2,gres:gpu:1g.10gb".
function M.read_gpus(text)
    local counts = {}
    for item in (text or ""):gmatch("[^,]+") do
        add_item(counts, item)
    end
    return counts
end

-- Returns a number that the user gave, nil for Slurm's "not set" (NO_VAL16, NO_VAL, INFINITE).
local function read_number(value)
    if type(value) ~= "number" or value < 0 or value == 65534 or value >= 4294967294 then
        return nil
    end
    return value
end

-- Merges counts x factor into totals. The kinds of request overlap (--gpus says the sum of
-- --gres over the nodes), so the largest one counts.
local function raise_totals(totals, counts, factor)
    for gres_type, count in pairs(counts) do
        totals[gres_type] = math.max(totals[gres_type] or 0, count * factor)
    end
end

-- Returns the least number of GPUs by type that the whole job will hold at once.
function M.count_gpus(job_desc)
    local nodes = math.max(read_number(job_desc.min_nodes) or 1, 1)
    local per_node = read_number(job_desc.ntasks_per_node)
    local tasks = read_number(job_desc.num_tasks) or (per_node and per_node * nodes) or 1
    local totals = {}
    raise_totals(totals, M.read_gpus(job_desc.tres_per_job), 1)
    raise_totals(totals, M.read_gpus(job_desc.tres_per_node or job_desc.gres), nodes)
    raise_totals(totals, M.read_gpus(job_desc.tres_per_socket), 1)
    raise_totals(totals, M.read_gpus(job_desc.tres_per_task), math.max(tasks, 1))
    return totals
end

local function lower(text)
    return text and text ~= "" and text:lower() or nil
end

-- Writes the GPU type into the job's fields as gres.conf spells it: Slurm tells cases apart.
function M.respell(job_desc, written, right)
    local from, to = written:gsub("%p", "%%%0"), right:gsub("%%", "%%%%")
    for _, name in ipairs(TRES_FIELDS) do
        local text = job_desc[name]
        if text then
            -- Commas around, so that no part of another type's name matches.
            text = ("," .. text .. ","):gsub("(gpu:)" .. from .. "([:=,])", "%1" .. to .. "%2")
            job_desc[name] = text:sub(2, -2)
        end
    end
end

-- Returns the job as the rules see it. `types` is sorted; `gpu_type` and `gpu_count` are those of
-- its first type; `candidates` are filled by the rules.
function M.read(job_desc)
    local totals = M.count_gpus(job_desc)
    local types = {}
    for gres_type in pairs(totals) do
        if gres_type ~= "" then
            types[#types + 1] = gres_type
        end
    end
    table.sort(types)
    return {
        account = lower(job_desc.account) or lower(job_desc.default_account),
        user = job_desc.user_name,
        partition = job_desc.partition,
        qos = lower(job_desc.qos),
        time_limit_minutes = read_number(job_desc.time_limit),
        asks_for_gpus = next(totals) ~= nil,
        is_exclusive = job_desc.shared == 0,
        has_untyped = totals[""] ~= nil,
        types = types,
        gpu_type = types[1],
        gpu_count = totals[types[1]],
        candidates = {},
    }
end

-- Returns what a text names: nil for none. Slurm leaves out what a change does not touch.
local function given(text)
    return text ~= nil and text ~= "" and text or nil
end

-- Returns a job as it would be after the change, for `read`, and whether the change touches
-- what an allocation holds. The job's QOS stays open unless the change names one: it follows the
-- partition and the GPUs. So does the partition where only the QOS is changed.
function M.read_change(job_desc, job_rec)
    local qos, partition = given(job_desc.qos), given(job_desc.partition)
    local is_touched = qos or partition or given(job_desc.account)
    local merged = {
        account = given(job_desc.account) or job_rec.account,
        user_name = job_rec.user_name,
        qos = qos,
        partition = partition or (not qos and job_rec.partition or nil),
    }
    for _, name in ipairs(TRES_FIELDS) do
        is_touched = is_touched or job_desc[name]
        merged[name] = job_desc[name] or job_rec[name]
    end
    if job_desc.tres_per_node or job_desc.gres then
        merged.tres_per_node, merged.gres = job_desc.tres_per_node or job_desc.gres, nil
    end
    for _, name in ipairs({ "min_nodes", "num_tasks", "ntasks_per_node", "time_limit" }) do
        local number = read_number(job_desc[name])
        is_touched = is_touched or (number and name ~= "time_limit")
        merged[name] = number or job_rec[name]
    end
    return merged, is_touched and true or false
end

return M
