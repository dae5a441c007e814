"""A PostgreSQL server of one's own in a temporary folder, reached by a socket in it alone."""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

USER = "tcc"


def program(name):
    """The path of one of PostgreSQL's programs; None: it is not installed."""
    found = shutil.which(name)
    return found or max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)


def missing():
    """Why there can be no server; "": there can."""
    names = [name for name in ("initdb", "postgres", "psql", "setpriv") if not program(name)]
    return f"not installed: {', '.join(names)}" if names else ""


class Server:
    """Runs until close(), or until this program ends. What it writes is not synced: nobody needs it after a power failure."""

    def __init__(self, *settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tcc-fleet-"))
        self.folder.chmod(0o755)
        self.settings = settings
        self.prefix = ["setpriv", "--pdeathsig=INT"]
        if os.geteuid() == 0:  # which the server's programs refuse to be
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.prefix += [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        subprocess.run([*self.prefix, program("initdb"), "-D", self.folder / "data", "-U", USER, "-A",
                        "trust", "-E", "UTF8", "--no-sync", "--locale=C"], cwd=self.folder,
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120)
        self.start()

    def start(self):
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=off",
                    *self.settings]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*self.prefix, program("postgres"), "-D", self.folder / "data",
                 *(word for setting in settings for word in ("-c", setting))],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 120
        while self.sql("SELECT 1", check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # a fast shutdown, without waiting for clients
        self.process.wait(timeout=120)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="postgres", user=USER):
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def sql(self, text, database="postgres", user=USER, check=True):
        """What psql does with the text: its result, whose output has a line for each row."""
        return subprocess.run([program("psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1",
                               self.url(database, user)], input=text, text=True, check=check,
                              capture_output=True, timeout=120)
