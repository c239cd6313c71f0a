"""A Chromium without a window, led over a pipe by its DevTools protocol: pages are opened, keys are pressed as a keyboard
does, what the page then holds is asked for. Needs nothing but Python."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

KEYS = {  # of a name: virtual key code, and what it types
    "Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "Home": (36, ""), "End": (35, ""), " ": (32, " "),
    "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}


class Chromium:
    """One page of a browser, `width` by `height` points. What the page or the browser complains of is in `complaints`."""

    def __init__(self, browser, width=1200, height=900, dark=False, limit=120):
        self.until = time.monotonic() + limit
        self.profile = tempfile.mkdtemp(prefix="chromium")
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def with_pipe():  # the browser reads from 3 and writes to 4
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile}"],
            preexec_fn=with_pipe, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.text, self.number, self.session, self.events, self.complaints = b"", 0, None, [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                           {"name": "prefers-reduced-motion", "value": "reduce"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)  # upon which the browser ends
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        """The next answer or event."""
        while b"\0" not in self.text:
            if not select.select([self.back], [], [], max(0, self.until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.text += piece
        one, _, self.text = self.text.partition(b"\0")
        return json.loads(one)

    def take(self, event):
        kind, what = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif kind == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(x.get("value", x.get("description"))) for x in what["args"]))
        elif kind == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])
        self.events.append(kind)

    def ask(self, method, **params):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.to, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == asked["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.take(answer)

    def wait_for(self, event):
        while event not in self.events:
            self.take(self.message())

    def open(self, url):
        """Until the page's own scripts have run."""
        self.events.clear()
        told = self.ask("Page.navigate", url=url)
        if "errorText" in told:
            raise RuntimeError(f"{url}: {told['errorText']}")
        self.wait_for("Page.loadEventFired")
        self.settle()

    def follow(self, key):
        """Presses a key that leads to another page, and waits for that."""
        self.events.clear()
        self.key(key)
        self.wait_for("Page.loadEventFired")
        self.settle()

    def value(self, script):
        """What the script gives, as JSON; a promise is awaited."""
        told = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"].get("exception", {}).get("description", str(told)))
        return told["result"].get("value")

    def settle(self):
        """Until what was asked for is drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def key(self, key):
        """A key goes down and up: a name of `KEYS` (with `Shift+`), else a character."""
        shifted = key.startswith("Shift+")
        name = key.removeprefix("Shift+")
        code, text = KEYS.get(name) or (ord(name.upper()) if name.isalnum() else 0, name)
        shared = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shifted else 0}
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.ask("Input.dispatchKeyEvent", **shared, **down)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **shared)

    def press(self, *keys):
        """Keys one after the other, as a keyboard sends them."""
        for key in keys:
            self.key(key)
        self.settle()

    def type(self, text):
        self.press(*text)

    def picture(self, file, scale=1):
        """What is seen, as PNG of `scale` pixels a point."""
        x, y, width, height = self.value("[scrollX, scrollY, innerWidth, innerHeight]")
        told = self.ask("Page.captureScreenshot", format="png",
                        clip={"x": x, "y": y, "width": width, "height": height, "scale": scale})
        with open(file, "wb") as out:
            out.write(base64.b64decode(told["data"]))
