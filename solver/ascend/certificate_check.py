"""The check of an Ascend certificate."""

from dataclasses import fields

from warpwright.solver.domain.certificate_check import CertificateCheck, Claimed, Follows, check_fields
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import BufferSchedule
from warpwright.solver.domain.verdict import Certificate

__all__ = ["check_certificate"]


def check_certificate(
    graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule, certificate: Certificate
) -> CertificateCheck:
    """What of a certificate is so. Only the profile and the verdict of the verifier are compared; the rest is unchecked.

    Args:
        graph: The kernel.
        profile: The device.
        schedule: A legal schedule of the kernel (:func:`warpwright.solver.ascend.verify.verify_buffers`).
        certificate: What is said about it.
    """
    judged: dict[str, Follows | Claimed] = {field.name: Claimed() for field in fields(certificate)}
    judged["profile_digest"] = Follows(profile.digest, "this profile is")
    judged["verified"] = Follows(True, "the verifier says")
    return CertificateCheck(check_fields(certificate, judged), ())
