"""A PostgreSQL server of one's own in a temporary folder, reached by a socket in it alone."""

import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

USER = "tcc"


def program(name):
    """The path of one of PostgreSQL's programs; None: it is not installed."""
    found = shutil.which(name)
    return found or max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)


def missing():
    """Why there can be no server; "": there can."""
    names = [name for name in ("initdb", "pg_ctl", "postgres", "psql") if not program(name)]
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        names.append("setpriv")
    return f"not installed: {', '.join(names)}" if names else ""


class Server:
    """Runs until close(). What it writes is not synced: nobody needs it after a power failure."""

    def __init__(self, settings=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tcc-fleet-"))
        self.folder.chmod(0o755)
        self.settings = settings
        self.prefix = []
        if os.geteuid() == 0:  # which the server's programs refuse to be
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.prefix = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}",
                           "--clear-groups"]
        self.run("initdb", "-D", self.folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8",
                 "--no-sync", "--locale=C")
        self.start()

    def run(self, name, *arguments):
        subprocess.run([*self.prefix, program(name), *map(str, arguments)], cwd=self.folder,
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120)

    def start(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "start", "-o",
                 f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off "
                 f"{self.settings}")

    def stop(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-m", "fast", "stop")

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
