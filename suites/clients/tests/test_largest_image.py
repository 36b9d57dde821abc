"""Predictions, of which largest_image.py then makes trials on a device."""

import pyclesperanto_estimators as estimators
from largest_image import Limits, Prediction, Trial, beyond, predict, verdict_of

MIB = 2**20
PLANE = (512, 512)  # 1 MiB


def test_one_buffer_is_the_limit_of_what_needs_few_images():
    limits = Limits("a device", memory=1024 * MIB, allocation=256 * MIB)
    predicted = predict(estimators.pyclesperanto, "mean_box", PLANE, limits)
    assert predicted == Prediction(256, 3 * 256 * MIB, "one buffer")


def test_all_memory_is_the_limit_of_what_needs_many():
    limits = Limits("a device", memory=1024 * MIB, allocation=256 * MIB)
    predicted = predict(estimators.prototype, "top_hat", PLANE, limits)
    assert predicted == Prediction(170, 6 * 170 * MIB, "the device's memory")


def test_bytes_beside_the_image_leave_less_for_it():
    limits = Limits("a device", memory=16 * MIB, allocation=16 * MIB)
    predicted = predict(estimators.pyclesperanto, "sum_all_pixels", PLANE, limits)
    assert predicted == Prediction(15, 15 * MIB + 262_144, "the device's memory")


def test_a_prediction_is_right_only_to_the_byte():
    predicted = Prediction(4, 12 * MIB, "one buffer")
    assert verdict_of(predicted, Trial(4, True, 12 * MIB, False, "")) == "confirmed"
    assert verdict_of(predicted, Trial(4, True, 12 * MIB + 1, False, "")) == f"wrong: took {12 * MIB + 1} bytes"
    assert verdict_of(predicted, Trial(4, False, None, True, "no memory")) == "wrong: no memory"


def test_a_plane_more_is_refused_or_given_or_fails():
    assert beyond(Trial(5, False, 0, True, "no memory")) == "refused"
    assert beyond(Trial(5, True, 15 * MIB, False, "")) == "given all the same"
    assert beyond(Trial(5, False, None, False, "killed")) == "failed: killed"
