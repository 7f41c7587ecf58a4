std = "lua51"
max_line_length = 100
files["slurm_plugins/job_submit/job_submit.lua"] = {
    read_globals = { "slurm" },
    globals = { "slurm_job_submit", "slurm_job_modify" },
}
