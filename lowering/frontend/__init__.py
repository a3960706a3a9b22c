"""TileLang IR in, KernelGraph out.

Modules without TVM, for the parent side: ``nodes``, ``operators``, ``precheck``, ``irhash``, ``rename``, ``costs``.
Everything else imports TileLang and runs in child processes only, by the task names ``frontend.read`` and ``frontend.hash``.
"""
