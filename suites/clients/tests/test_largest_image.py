"""Tests the predictions of largest_image.py."""

import pyclesperanto_estimators as estimators
from largest_image import Limits, Prediction, Trial, larger_trial_result, predict, trial_verdict

MIB = 2**20
PLANE = (512, 512)  # 1 MiB


def test_few_images_are_limited_by_one_buffer():
    limits = Limits("a device", memory=1024 * MIB, allocation=256 * MIB)
    predicted = predict(estimators.pyclesperanto, "mean_box", PLANE, limits)
    assert predicted == Prediction(256, 3 * 256 * MIB, "one buffer")


def test_many_images_are_limited_by_the_memory():
    limits = Limits("a device", memory=1024 * MIB, allocation=256 * MIB)
    predicted = predict(estimators.prototype, "top_hat", PLANE, limits)
    assert predicted == Prediction(170, 6 * 170 * MIB, "the device's memory")


def test_fixed_bytes_reduce_the_number_of_planes():
    limits = Limits("a device", memory=16 * MIB, allocation=16 * MIB)
    predicted = predict(estimators.pyclesperanto, "sum_all_pixels", PLANE, limits)
    assert predicted == Prediction(15, 15 * MIB + 262_144, "the device's memory")


def test_a_prediction_must_be_exact():
    predicted = Prediction(4, 12 * MIB, "one buffer")
    assert trial_verdict(predicted, Trial(4, True, 12 * MIB, False, "")) == "confirmed"
    assert trial_verdict(predicted, Trial(4, True, 12 * MIB + 1, False, "")) == f"wrong: took {12 * MIB + 1} bytes"
    assert trial_verdict(predicted, Trial(4, False, None, True, "no memory")) == "wrong: no memory"


def test_one_plane_more_is_refused_or_works_or_fails():
    assert larger_trial_result(Trial(5, False, 0, True, "no memory")) == "refused"
    assert larger_trial_result(Trial(5, True, 15 * MIB, False, "")) == "works"
    assert larger_trial_result(Trial(5, False, None, False, "killed")) == "failed: killed"
