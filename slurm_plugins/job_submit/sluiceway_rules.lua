-- The rules: each is function(job, account, policy) and returns nothing, or a sentence for the
-- user and the name of Slurm's error code. They run in the order of M.list.

local M = {}

local function is_spot(line)
    return line.purchase_option == "spot"
end

local function name_project(account)
    if account.title == "" then
        return "project " .. account.name
    end
    return "project " .. account.name .. " (" .. account.title .. ")"
end

-- "a100 (4 at once, partition gpu), 1g.10gb (2 at once, partition spot, preemptible)"
local function describe_lines(lines)
    local words = {}
    for _, line in ipairs(lines) do
        words[#words + 1] = string.format("%s (%d at once, partition %s%s)", line.gres_type,
            line.units, line.partition, is_spot(line) and ", preemptible" or "")
    end
    return table.concat(words, ", ")
end

local function list_types(lines)
    local seen, words = {}, {}
    for _, line in ipairs(lines) do
        if not seen[line.gres_type] then
            seen[line.gres_type] = true
            words[#words + 1] = line.gres_type
        end
    end
    return words
end

local function filter(lines, is_wanted)
    local kept = {}
    for _, line in ipairs(lines) do
        if is_wanted(line) then
            kept[#kept + 1] = line
        end
    end
    return kept
end

-- Keeps the candidates that pass; returns the first one that would be lost when none does.
local function narrow(job, is_wanted)
    local kept = filter(job.candidates, is_wanted)
    if #kept == 0 then
        return job.candidates[1]
    end
    job.candidates = kept
    return nil
end

-- A hint at the preemptible partition, where the project has a usable line there.
local function hint_at_spot(job, account)
    for _, line in ipairs(account.lines) do
        local is_same = line.gres_type == job.candidates[1].gres_type
        local fits = is_same and line.units >= job.gpu_count
        if is_spot(line) and fits and not line.hold and job.partition ~= line.partition then
            return string.format(" (or preemptible ones: -p %s)", line.partition)
        end
    end
    return ""
end

local function format_hours(minutes)
    local text = string.format("%.1f", minutes / 60):gsub("%.0$", "")
    return text
end

local function must_be_a_member(job, account)
    if job.user and not account.members[job.user] then
        return string.format("%s is not a member of %s. Ask its PI to add you: %s",
            job.user, name_project(account), account.url), "ESLURM_INVALID_ACCOUNT"
    end
end

local function must_have_lines(_job, account)
    if #account.lines == 0 then
        return string.format("%s has no GPU allocation. Request one at %s",
            name_project(account), account.url), "ESLURM_ACCESS_DENIED"
    end
end

local function must_name_a_type(job, account)
    if job.has_untyped then
        local types = list_types(account.lines)
        return string.format("say which GPU you want, for example --gres=gpu:%s:1. "
            .. "It has to be one of %s's: %s. See %s", types[1], name_project(account),
            describe_lines(account.lines), account.url), "ESLURM_ACCESS_DENIED"
    end
end

local function must_name_one_type(job)
    if #job.types > 1 then
        return string.format("one job can draw on one allocation, and this one asks for %s. "
            .. "Submit one job for each type.", table.concat(job.types, " and ")),
            "ESLURM_ACCESS_DENIED"
    end
end

-- The lines of a GPU type; of one that differs in upper and lower case alone, where there is none.
local function find_lines(account, gpu_type)
    local lines = filter(account.lines, function(line) return line.gres_type == gpu_type end)
    if #lines > 0 then
        return lines
    end
    return filter(account.lines, function(line)
        return line.gres_type:lower() == gpu_type:lower()
    end)
end

-- Also sets the candidates: where partition and QOS are open, preemptible lines count only when
-- the project has no others, so that nobody is preempted without asking for it.
local function must_have_an_allocation(job, account, policy)
    local lines = find_lines(account, job.gpu_type)
    if #lines == 0 then
        local unknown = not policy.gres_types[job.gpu_type]
        return string.format("%s has no allocation of %s%s; it has %s. Request one at %s",
            name_project(account), job.gpu_type, unknown and ", which this cluster lacks" or "",
            describe_lines(account.lines), account.url), "ESLURM_ACCESS_DENIED"
    end
    job.candidates = lines
    if not job.partition and not job.qos then
        narrow(job, function(line)
            return not is_spot(line)
        end)
    end
end

local function must_match_partition(job, account)
    if not job.partition then
        return
    end
    local wanted = {}
    for name in job.partition:gmatch("[^,%s]+") do
        wanted[name] = true
    end
    if narrow(job, function(line) return wanted[line.partition] end) then
        return string.format("%s has no %s in partition %s; it has %s. "
            .. "Leave -p out or name that partition: %s", name_project(account), job.gpu_type,
            job.partition, describe_lines(job.candidates), account.url), "ESLURM_ACCESS_DENIED"
    end
end

local function must_match_qos(job, account)
    if not job.qos then
        return
    end
    local line = narrow(job, function(candidate) return candidate.qos == job.qos end)
    if line then
        return string.format("QOS %s is no allocation of %s for %s%s. Leave --qos out, or use "
            .. "--qos=%s.", job.qos, job.gpu_type, name_project(account),
            job.partition and " in partition " .. job.partition or "", line.qos),
            "ESLURM_ACCESS_DENIED"
    end
end

local function must_not_be_held(job, account)
    local line = narrow(job, function(candidate) return not candidate.hold end)
    if line then
        return string.format("the allocation of %s to %s takes no jobs%s: %s See %s",
            line.gres_type, name_project(account), hint_at_spot(job, account), line.hold,
            line.url), "ESLURM_ACCOUNTING_POLICY"
    end
end

local function must_fit_the_units(job, account)
    local line = narrow(job, function(candidate) return candidate.units >= job.gpu_count end)
    if line then
        return string.format("this job asks for %d %s at once, the allocation of %s holds %d. "
            .. "Ask for at most %d%s, or request more at %s", job.gpu_count, line.gres_type,
            name_project(account), line.units, line.units, hint_at_spot(job, account),
            line.url), "ESLURM_ACCOUNTING_POLICY"
    end
end

local function must_fit_what_is_left(job, account)
    local needed = job.gpu_count * (job.time_limit_minutes or 1)
    local line = narrow(job, function(candidate)
        return not candidate.remaining_unit_minutes or candidate.remaining_unit_minutes >= needed
    end)
    if line then
        return string.format("this job may take %s unit-hours of %s, and %s has %s left. "
            .. "Shorten it with --time, or request more at %s", format_hours(needed),
            line.gres_type, name_project(account), format_hours(line.remaining_unit_minutes),
            line.url), "ESLURM_ACCOUNTING_POLICY"
    end
end

M.list = {
    must_be_a_member,
    must_have_lines,
    must_name_a_type,
    must_name_one_type,
    must_have_an_allocation,
    must_match_partition,
    must_match_qos,
    must_not_be_held,
    must_fit_the_units,
    must_fit_what_is_left,
}

-- Returns the line that the job is to draw on, of those that passed all rules: the one whose QOS
-- it has already, else the first.
function M.choose_line(job, qos_before)
    for _, line in ipairs(job.candidates) do
        if line.qos == qos_before then
            return line
        end
    end
    return job.candidates[1]
end

-- Sets what the user left open.
function M.fill_in(job_desc, job, line)
    if not job.qos then
        job_desc.qos = line.qos
    end
    if job.partition ~= line.partition then
        job_desc.partition = line.partition
    end
end

-- What somebody has to know whose job passes: by --exclusive it takes more than it asks for.
function M.warn(job, account)
    if job.is_exclusive then
        return string.format("--exclusive takes every GPU of the node, and all of them count "
            .. "against the allocation of %s. The job waits for ever where a node has more GPUs "
            .. "than that; without --exclusive it shares the node.", name_project(account))
    end
    return nil
end

return M
