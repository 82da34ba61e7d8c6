"""torch.utils.data._utils: the parts of the loader under torch's names."""

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds after which a loader looks whether its workers live
