"""A sample of the interventions by which answers to why are tested; all of them with --exhaustive."""

import pytest

from tests.inductor import interventions
from tests.sampling import sampled


@pytest.mark.parametrize("number", sampled(range(210), 1))
def test_an_answer_holds_when_what_it_names_is_changed(number):
    one = interventions.sample(number)
    good, first, second = interventions.holds(one)
    assert good, (one.kind, first, second)
