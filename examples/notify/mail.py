#!/usr/bin/env python3
"""Mails one finding through `sendmail` of the system (postfix, msmtp, …):

peakmark trends --notify 'examples/notify/mail.py team@example.org'
"""

import json
import subprocess
import sys
from email.message import EmailMessage


def main() -> int:
    finding = json.load(sys.stdin)
    mail = EmailMessage()
    mail["To"] = sys.argv[1]
    mail["Subject"] = " ".join(f"peakmark: {finding['event']}: {finding['case']}".split())
    lines = [finding["text"]]
    if finding.get("compare"):
        lines += ["", "To compare the two commits:", f"  {finding['compare']}"]
    if finding.get("cases"):
        lines += ["", "Cases:", *(f"  {case}" for case in finding["cases"])]
    mail.set_content("\n".join(lines) + "\n")
    # A failure makes `peakmark trends` send the finding again.
    return subprocess.run(["sendmail", "-t", "-oi"], input=mail.as_bytes(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
