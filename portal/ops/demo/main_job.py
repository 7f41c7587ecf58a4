"""The demo inside .venv: sandbox, portal, then the main job step by step; run by __main__."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from portal.ops.demo import bill, jobs, prepare, requesting, services
from portal.ops.demo.browser import Browser
from portal.ops.demo.console import Console, DemoError, StepFailed
from portal.ops.demo.layout import DemoLayout, locate_demo
from portal.ops.demo.lock import hold_lock
from portal.ops.demo.slurm_checks import list_missing, run_slurm
from portal.ops.demo.waiting import wait_for
from portal.sandbox.cluster import Sandbox

START_SECONDS = 30.0
TICK_SECONDS = 45.0
JOB_SECONDS = 120.0


@dataclass
class MainJob:
    """One run: what its steps share."""

    layout: DemoLayout
    console: Console
    sandbox: Sandbox = field(init=False)
    project: str = ""
    logins: dict[str, str] = field(default_factory=dict)
    browsers: dict[str, Browser] = field(default_factory=dict)
    request_id: int = 0
    job_ids: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Run all steps; StepFailed after the console has told which failed."""
        self.start_sandbox()
        self.start_portal()
        self.request()
        self.approve()
        self.wait_for_slurm()
        self.submit()
        self.try_refused()
        self.wait_for_jobs()
        self.ingest()
        self.post()
        self.charge()
        self.finish()

    def start_sandbox(self) -> None:
        with self.console.step("Sandbox") as step:
            self.sandbox = services.open_sandbox(self.layout)
            self.sandbox.up(self.console.log)
            count = len(self.sandbox.spec.node_names)
            names = ", ".join(self.sandbox.spec.users)
            step.check(f"munge, MariaDB, slurmdbd, slurmctld, {count} nodes ready; users {names}")

    def start_portal(self) -> None:
        layout = self.layout
        with self.console.step("Database") as step:
            services.stop_services(layout)
            _, port_sentence = services.choose_port(layout)
            if prepare.write_env_file(layout):
                step.check("new secret key")
            if sentence := prepare.set_old_books_aside(layout, self.sandbox):
                step.check(sentence)
            prepare.start_django(layout)
            count, mode = prepare.migrate_database(layout)
            step.check(f"SQLite in {mode.upper()} mode, {count} migrations run")
        with self.console.step("Site description") as step:
            self.project = prepare.choose_project(layout)
            counts = prepare.load_demo_site(layout, self.sandbox, self.project)
            self.logins = prepare.set_passwords(layout)
            prepare.schedule_ticks()
            step.check(f"{counts.get('created', 0)} created, {counts.get('changed', 0)} changed, "
                       f"{counts.get('same', 0)} the same; project {self.project}")  # fmt: skip
        with self.console.step("Web server and task worker") as step:
            prepare.collect_static()
            self._start_services()
            step.check(f"gunicorn with {services.WEB_WORKERS} workers answers at {layout.url}")
            step.check("django-q2 works")
            if port_sentence:
                step.check(port_sentence)

    def _start_services(self) -> None:
        both = services.make_services(self.layout)
        offsets = [service.get_log_size() for service in both]
        for service in both:
            service.start()
        for service, offset in zip(both, offsets, strict=True):
            service.wait_ready(START_SECONDS, offset)

    def request(self) -> None:
        with self.console.step("Request") as step:
            browser = self._log_in("mira")
            self.request_id = requesting.submit_request(browser, self.project)
            wanted = ", ".join(
                f"{line.units} x {line.gres_type} {line.purchase_option}"
                for line in requesting.REQUEST_LINES
            )
            step.check(f"mira (PI) sent the form: request {self.request_id}, {wanted}")

    def approve(self) -> None:
        with self.console.step("Approval") as step:
            requesting.approve_request(self._log_in("priya"), self.request_id)
            page = self._log_in("mira").get(f"/requests/{self.request_id}/")
            if "Approved" not in page.text:
                raise DemoError(f"{page.url} does not say that the request is approved")
            step.check(f"priya (approver) found it in the queue and approved; {page.url} says so")

    def wait_for_slurm(self) -> None:
        members = [self.layout.user_prefix + name for name in ("mira", "jonas")]
        missing: list[str] = []

        def is_there() -> bool:
            missing[:] = list_missing(self.sandbox, self.project, members)
            return not missing

        with self.console.step("Slurm's objects") as step:
            try:
                seconds = wait_for("the approved things are in Slurm", is_there, TICK_SECONDS)
            except DemoError as error:
                raise DemoError(
                    f"{error.reason}; missing: {', '.join(missing)}",
                    log_path=self.layout.logs / "qcluster.log",
                    next_step="read the task worker's log, then run make demo again",
                ) from error
            step.check(f"sacctmgr shows account {self.project}, {len(members)} associations, "
                       f"{len(requesting.REQUEST_LINES)} QOS with their limits, {seconds:.1f} s "
                       "after the approval")  # fmt: skip

    def submit(self) -> None:
        with self.console.step("Jobs submitted") as step:
            submitted = jobs.submit_jobs(self.sandbox, self.layout.user_prefix, self.project)
            self.job_ids = [job_id for _, _, job_id in submitted]
            step.check(f"{self.layout.user_prefix}jonas, an ordinary user, ran plain sbatch")
            for title, command, job_id in submitted:
                step.show(f"{title:<12} job {job_id:<4} {command}")

    def try_refused(self) -> None:
        with self.console.step("Submissions refused") as step:
            refused = jobs.submit_refused(self.sandbox, self.layout.user_prefix, self.project)
            step.check(f"{len(refused)} of {len(refused)}, each with a sentence")
            for title, command, sentence in refused:
                step.show(f"{title}: {command}\n  {sentence}")

    def wait_for_jobs(self) -> None:
        with self.console.step("Jobs end") as step:
            rows = jobs.wait_for_jobs(self.sandbox, self.job_ids, JOB_SECONDS)
            step.check(f"sacct shows {len(rows)} jobs COMPLETED")
            for job, partition, _state, seconds, tres in rows:
                gpus = next((part for part in tres.split(",") if "gpu:" in part), tres)
                step.show(f"{job:<8} {partition:<5} {seconds:>3} s  {gpus}")

    def ingest(self) -> None:
        from django.utils import timezone

        from portal.common.ticks import request_tick
        from portal.usage.models import ImportRun, Job

        with self.console.step("Usage") as step:
            asked_at = timezone.now()
            request_tick("ingest")
            runs = ImportRun.objects.filter(is_complete=True, window_end_at__gte=asked_at)
            self._wait_for_tick("the task worker ingests", runs.exists)
            stored = Job.objects.filter(account=self.project, is_final=True).count()
            if stored != jobs.JOB_COUNT:
                raise DemoError(
                    f"{stored} jobs of {self.project} were stored, not {jobs.JOB_COUNT}"
                )
            step.check(f"the task worker's ingest stored {stored} jobs of {self.project}")

    def post(self) -> None:
        from django.db.models import Sum

        from portal.common.ticks import request_tick
        from portal.ledger.models import Transaction
        from portal.usage.models import UsageRecord

        usage = UsageRecord.objects.filter(project__code=self.project, is_final=True)
        posted = Transaction.objects.filter(project__code=self.project)

        def is_posted() -> bool:
            sums = [rows.aggregate(total=Sum("unit_seconds"))["total"] for rows in (usage, posted)]
            return sums[0] is not None and sums[0] == sums[1]

        with self.console.step("Ledger") as step:
            request_tick("post_ledger")
            self._wait_for_tick("the task worker posts the ledger", is_posted)
            step.check(f"{posted.count()} balanced transactions hold all of its unit-seconds")

    def _wait_for_tick(self, what: str, is_so: Callable[[], bool]) -> None:
        try:
            wait_for(what, is_so, TICK_SECONDS)
        except DemoError as error:
            raise DemoError(
                error.reason,
                log_path=self.layout.logs / "qcluster.log",
                next_step="read the task worker's log, then run make demo again",
            ) from error

    def charge(self) -> None:
        with self.console.step("Chargeback") as step:
            prices = bill.read_prices(prepare.SITE_FILE)
            month = datetime.now(prices.zone).strftime("%Y-%m")
            page = self._log_in("hana").get(f"/chargeback/{month}/csv/")
            path = self.layout.var / f"chargeback-{month}.csv"
            path.write_bytes(page.text.encode("utf-8"))
            start_at = bill.get_month_start(month, prices.zone)
            rows = run_slurm(self.sandbox, bill.list_sacct_arguments(start_at), utc=True)
            wanted = bill.compute_unit_seconds(rows, prices, start_at)
            if not any(key.project == self.project for key in wanted):
                raise DemoError(f"sacct knows no use of {self.project} in {month}")
            differences = bill.list_differences(page.text, wanted, prices)
            if differences:
                raise DemoError(f"the CSV {path} is wrong: " + "; ".join(differences))
            step.check(f"{path}: all {len(wanted)} amounts equal elapsed seconds x units x price "
                       "computed apart from sacct")  # fmt: skip
            step.show(bill.render_csv(page.text))

    def finish(self) -> None:
        say = self.console.say
        say(f"\nThe main job ran end to end in {self.console.seconds:.0f} s.")
        say(f"The portal runs at {self.layout.url} ; logins (also in {self.layout.logins_file}):")
        for username, password in self.logins.items():
            say(f"  {username:<8} {password:<14} {_ROLES.get(username, '')}", is_logged=False)
        say(f"Slurm: export SLURM_CONF={self.sandbox.slurm_conf}")
        say("make status shows what runs, make stop ends it, make clean takes all of it away.")

    def _log_in(self, username: str) -> Browser:
        """Return the person's session, logged in at its first use."""
        if username not in self.browsers:
            browser = Browser(self.layout.url, self.layout.logs / "gunicorn.log")
            browser.log_in(username, self.logins[username])
            self.browsers[username] = browser
        return self.browsers[username]


_ROLES = {
    "mira": "PI of the demo's project",
    "jonas": "member of the demo's project",
    "lea": "PI of another project",
    "priya": "approver",
    "tomas": "operator",
    "hana": "finance",
}


def main() -> int:
    """Run the demo; return the exit code."""
    layout = locate_demo()
    console = Console(layout.log_file)
    try:
        with hold_lock(layout.lock_file, console.command):
            MainJob(layout, console).run()
    except StepFailed as failed:
        return failed.exit_code
    except DemoError as error:
        print(f"make demo: {error.reason}\n  next: {error.next_step}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. Run make demo again.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
