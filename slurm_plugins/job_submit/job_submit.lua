-- Slurm's job_submit/lua plugin: finds the allocation behind a GPU job, sets QOS and partition
-- where they are open, and refuses with a sentence that helps. Loaded by slurmctld from the folder
-- of slurm.conf together with the files beside it; no job causes any I/O here. Whatever goes
-- wrong in it, the job passes and Slurm's own limits decide.

local PREFIX = "Sluiceway"
local POLICY_FORMAT = 1

local folder = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."

-- Returns what a file beside this one returns, or nil after logging why not.
local function load_beside(name)
    local ok, result = pcall(dofile, folder .. "/" .. name)
    if ok and type(result) == "table" then
        return result
    end
    slurm.log_error("%s", PREFIX .. ": " .. name .. " is not used: " .. tostring(result))
    return nil
end

local requests = load_beside("sluiceway_request.lua")
local rules = load_beside("sluiceway_rules.lua")
local policy = load_beside("sluiceway_policy.lua")

if policy and policy.format ~= POLICY_FORMAT then
    slurm.log_error("%s", PREFIX .. ": the policy has format " .. tostring(policy.format))
    policy = nil
end

-- Accounts are functions until their first job; see portal/reconcile/policy.py.
local function find_account(name)
    local account = name and policy.accounts[name]
    if type(account) == "function" then
        account = account()
        policy.accounts[name] = account
    end
    return account
end

-- Returns a sentence and the name of Slurm's error code where a rule refuses, nil otherwise.
local function check(job, account)
    for _, rule in ipairs(rules.list) do
        local text, code = rule(job, account, policy)
        if text then
            return text, code
        end
    end
    return nil
end

-- One line, whatever a title holds; never a format of its own.
local function tell(text, log)
    log("%s", PREFIX .. ": " .. text:gsub("[%c%s]+", " "))
end

-- Fills in what is open in job_desc. `job` is what Slurm would make of it.
local function complete(job_desc, job, qos_before)
    local line = rules.choose_line(job, qos_before)
    if line.gres_type ~= job.gpu_type then
        requests.respell(job_desc, job.gpu_type, line.gres_type)
    end
    rules.fill_in(job_desc, job, line)
end

local function decide_submit(job_desc)
    local job = requests.read(job_desc)
    local account = find_account(job.account)
    if not account then
        return nil
    end
    if job.asks_for_gpus then
        local text, code = check(job, account)
        if text then
            return text, code
        end
        complete(job_desc, job)
    end
    local warning = rules.warn(job, account)
    if warning then
        tell(warning, slurm.log_user)
    end
    return nil
end

-- A change must not lead to what a submission could not: GPUs of another type, or the partition of
-- on-demand work under the QOS of preemptible work.
local function decide_change(job_desc, job_rec)
    local merged, is_touched = requests.read_change(job_desc, job_rec)
    local job = requests.read(merged)
    local account = is_touched and job.asks_for_gpus and find_account(job.account)
    if not account then
        return nil
    end
    local text, code = check(job, account)
    if not text then
        complete(job_desc, job, job_rec.qos)
    end
    return text, code
end

local function answer(log, decide, ...)
    if not (requests and rules and policy) then
        return slurm.SUCCESS
    end
    local ok, text, code = pcall(decide, ...)
    if not ok then
        slurm.log_error("%s", PREFIX .. ": a job passed unchecked: " .. tostring(text))
        return slurm.SUCCESS
    end
    if not text then
        return slurm.SUCCESS
    end
    tell(text, log)
    return slurm[code] or slurm.ERROR
end

function slurm_job_submit(job_desc, _part_list, _submit_uid)
    return answer(slurm.log_user, decide_submit, job_desc)
end

-- Root may make any change. scontrol shows Slurm's own words alone (slurmctld discards log_user()
-- here): the sentence goes to slurmctld's log.
function slurm_job_modify(job_desc, job_rec, _part_list, modify_uid)
    if modify_uid == 0 then
        return slurm.SUCCESS
    end
    return answer(slurm.log_info, decide_change, job_desc, job_rec)
end

return slurm.SUCCESS
