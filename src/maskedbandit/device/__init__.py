"""A person's device: noise is drawn here, or reports are sealed here for two operators, and nobody sees an outcome.

    device = Device(folder, "https://studies.example.org", Agreed(epsilon=1), key="mb_device_...")
    device.consent(True)  # nothing is stored or sent before
    arm = device.assign("newsletter", "ann", token)  # the token is made by the application's backend
    device.expose("newsletter")  # the person sees the arm
    device.record("newsletter", 1)  # on disk, and nowhere else
    device.contact()  # whenever the application runs: this alone sends

See docs/devices.md. Importing this takes no package that computes, and none that sends.
"""

from maskedbandit.device.agreed import Agreed
from maskedbandit.device.device import Device
from maskedbandit.device.shown_arms import ShownArm

__all__ = ["Agreed", "Device", "ShownArm"]
