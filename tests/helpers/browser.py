"""A headless Chromium driven over its DevTools pipe, without any library."""

import base64
import fcntl
import json
import os
import shutil
import signal
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def found():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page.

    `problems` collects errors of the console and of scripts, `requests` every address asked for.
    """

    def __init__(self, profile, seconds=60.0):
        self._deadline = time.monotonic() + seconds
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_child, from_child)]
        command = [found(), *FLAGS, f"--user-data-dir={profile}", "--window-size=1100,1600"]
        quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        # Chromium reads commands from descriptor 3 and answers on 4
        pipes = [(os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[1], 4)]
        self._process = os.posix_spawn(
            command[0], command, os.environ, file_actions=[*quiet, *pipes]
        )
        for fd in (to_child, from_child, *ends):
            os.close(fd)
        os.set_blocking(self._read, False)
        self._number, self._buffer, self._session = 0, b"", None
        self.problems, self.requests, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self):
        while b"\0" not in self._buffer:
            assert time.monotonic() < self._deadline, "the browser does not answer"
            assert os.waitpid(self._process, os.WNOHANG)[0] == 0, "the browser ended"
            try:
                self._buffer += os.read(self._read, 1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(raw)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(params)
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def open(self, address):
        """Open a page and wait until it is loaded."""
        self.problems, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._next()

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script, seconds=10.0):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"not within {seconds} s: {script}"
            time.sleep(0.05)

    def theme(self, name):
        """Light or dark, as the user's system would say."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self):
        """The page as PNG bytes."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def click(self, selector):
        """Press the left button in the middle of an element."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                buttons=1,
                clickCount=1,
            )

    def middle(self, selector):
        """The centre of an element in the window."""
        return self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )

    def close(self):
        """End the browser that was started here."""
        os.kill(self._process, signal.SIGTERM)
        end = time.monotonic() + 10.0
        while os.waitpid(self._process, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(0.02)
        os.close(self._write)
        os.close(self._read)
