"""A million denials. Not in `make test`: with the doorman asked about each, they take one to two minutes."""

from flooding import check_flood


def test_a_million_denials_cost_bounded_memory_and_log_and_stall_nobody(person):
    memory, slowest = check_flood(person, 1_000_000, 2)
    print(f"supervisor {memory} KB PSS at most, slowest answer to a signal {slowest:.3f} s")
