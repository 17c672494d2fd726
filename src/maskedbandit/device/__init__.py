"""A person's device in a study of two operators: what it reports is sealed here, and neither operator can read it.

    device = Device(folder, "https://studies.example.org", Agreed(epsilon=1, operators=(leader, helper)))
    device.consent(True)  # nothing is stored or sent before
    device.join(place)  # as the application's backend hands it over, when the person sees the arm
    device.record("newsletter", 1)  # on disk, and nowhere else
    device.contact()  # whenever the application runs: this alone sends

See docs/devices.md. Importing this takes no package that computes, and none that sends.
"""

from maskedbandit.device.agreed import Agreed
from maskedbandit.device.device import Device

__all__ = ["Agreed", "Device"]
