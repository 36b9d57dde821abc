"""Controls a headless Chromium by its DevTools protocol (CDP) over two pipes. Needs no other package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
SECONDS = 60


class Page:
    """One page. `errors` has the errors on its console and the exceptions of its scripts."""

    def __init__(self, folder: Path) -> None:
        # Chromium reads commands from descriptor 3 and answers on 4.
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        self.errors: list[str] = []
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self._process = subprocess.Popen(
            [
                "bash", "-c", 'exec "$0" "$@" 3<&%d 4>&%d' % (read_commands, write_answers), PROGRAM, "--headless",
                "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank",
            ],
            pass_fds=(read_commands, write_answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Page:
        return self

    def __exit__(self, _type: type | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._session = None
        try:
            # With Browser.close, all of its processes end, which write to its folder until then.
            self.call("Browser.close")
            self._process.wait(SECONDS)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise RuntimeError("chromium ended")
            self._rest += read
        line, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(line)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(json.dumps(parameters["args"]))
        elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file:", "data:", "about:")):
            self.errors.append(f"asks the network for {parameters['request']['url']}")
        return message

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def open(self, path: Path, fragment: str = "") -> None:
        """Loads a file and waits until it is complete."""
        # about:blank first, because Chromium does not reload a page if only the fragment of the address differs.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self.evaluate("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a script; waits for promises."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description"))
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Waits, a frame at a time, until the expression is true."""
        return self.evaluate(
            f"""new Promise((done, failed) => {{
              const end = performance.now() + {SECONDS * 1000};
              const poll = () => {{
                const value = ({expression});
                if (value) done(value);
                else if (performance.now() > end) failed(new Error("never true: " + {json.dumps(expression)}));
                else requestAnimationFrame(poll);
              }};
              poll();
            }})"""
        )

    def press(self, key: str, code: str = "") -> None:
        """Presses and releases a key."""
        texts = {"Enter": "\r", " ": " "}
        for kind in ("keyDown", "keyUp"):
            text = {"text": texts.get(key, key if len(key) == 1 else "")} if kind == "keyDown" else {}
            codes = {
                "Enter": 13, "Tab": 9, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
            }
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                windowsVirtualKeyCode=codes.get(key, 0), **{k: v for k, v in text.items() if v},
            )

    def set_view(self, width: int, height: int, dark: bool) -> None:
        """Sets the size of the window in CSS pixels, and the theme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=theme)
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def contrast(self, colour: str, background: str) -> float:
        """Returns the contrast of two opaque colours of CSS, as WCAG 2.1 defines it."""
        return self.evaluate(
            f"""(() => {{
              const level = (colour) => {{
                const style = document.createElement("i");
                style.style.color = colour;
                document.body.append(style);
                const rgb = getComputedStyle(style).color.match(/\\d+/g).map((one) => one / 255);
                style.remove();
                const [r, g, b] = rgb.map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              }};
              const [a, b] = [level("{colour}"), level("{background}")].sort((x, y) => y - x);
              return (a + 0.05) / (b + 0.05);
            }})()"""
        )

    def unnamed(self) -> list[dict[str, Any]]:
        """Returns controls and figures without a name for screen readers."""
        roles = ("button", "link", "textbox", "searchbox", "combobox", "slider", "image", "region", "DisclosureTriangle")
        return [
            node for node in self.call("Accessibility.getFullAXTree")["nodes"]
            if not node["ignored"] and node["role"]["value"] in roles and not node.get("name", {}).get("value")
        ]

    def screenshot(self, path: Path, whole: bool = False) -> None:
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
