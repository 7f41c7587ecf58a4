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

local function decide(job_desc)
    local job = requests.read(job_desc)
    local account = job.asks_for_gpus and find_account(job.account)
    if not account then
        return nil
    end
    for _, rule in ipairs(rules.list) do
        local text, code = rule(job, account, policy)
        if text then
            return text, code
        end
    end
    rules.fill_in(job_desc, job)
    return nil
end

function slurm_job_submit(job_desc, _part_list, _submit_uid)
    if not (requests and rules and policy) then
        return slurm.SUCCESS
    end
    local ok, text, code = pcall(decide, job_desc)
    if not ok then
        slurm.log_error("%s", PREFIX .. ": a job passed unchecked: " .. tostring(text))
        return slurm.SUCCESS
    end
    if not text then
        return slurm.SUCCESS
    end
    -- One line, whatever a title holds; never a format of its own.
    slurm.log_user("%s", PREFIX .. ": " .. text:gsub("[%c%s]+", " "))
    return slurm[code] or slurm.ERROR
end

function slurm_job_modify(_job_desc, _job_rec, _part_list, _modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
