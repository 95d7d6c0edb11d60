"""What `webapp certs` finds due, by the clock."""

from datetime import UTC, datetime, timedelta

import pytest

from functions.certs.authority import Pair, hosts, signed_by
from functions.certs.rotation import Authorities, Terms, plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "webapp-admission.webapp-system.svc"
DAY = timedelta(days=1)


def first():
    return plan(None, {HOST: None}, NOW)


def later(before, days, **options):
    return plan(before.authorities, before.servers, NOW + days * DAY, **options)


def test_nothing_becomes_an_authority_and_a_certificate_it_signed():
    made = first()
    certificate = made.servers[HOST].certificate
    assert made.renewed == (HOST,)
    assert hosts(certificate) == [HOST]
    assert signed_by(certificate, made.authorities.current.certificate)
    assert certificate.not_valid_after_utc - NOW == 90 * DAY


def test_nothing_is_due_while_everything_is_fresh():
    made = first()
    again = later(made, 59)
    assert (again.renewed, again.notes) == ((), ())
    assert (again.authorities, again.servers) == (made.authorities, made.servers)


def test_server_certificate_is_renewed_with_a_third_of_its_life_left():
    made = first()
    again = later(made, 61)
    assert again.renewed == (HOST,)
    assert again.authorities == made.authorities


def test_certificate_for_another_name_is_replaced():
    made = first()
    other = plan(made.authorities, {"other.webapp-system.svc": made.servers[HOST]}, NOW)
    assert "for another name" in other.notes[0]


def test_new_authority_keeps_the_old_one_trusted_until_the_overlap_is_over():
    made = first()
    rotated = later(made, 1, rotate=True)
    old, new = made.authorities.current.certificate, rotated.authorities.current.certificate
    assert rotated.authorities.earlier == (old,)
    assert signed_by(rotated.servers[HOST].certificate, new)
    during = later(rotated, 1.9)
    assert during.authorities.earlier == (old,)
    after = later(rotated, 2.1)
    assert after.authorities.earlier == ()
    assert after.authorities.current == rotated.authorities.current
    assert after.renewed == ()


def test_second_rotation_within_the_overlap_keeps_all_that_may_still_be_met():
    made = first()
    twice = later(later(made, 1, rotate=True), 1.5, rotate=True)
    assert len(twice.authorities.earlier) == 2


def test_authority_is_replaced_by_itself_before_its_end():
    made = first()
    assert later(made, 3.3 * 365).authorities.earlier == ()
    assert len(later(made, 3.4 * 365).authorities.earlier) == 1


def test_certificate_never_outlives_its_authority():
    made = plan(None, {HOST: None}, NOW, Terms(authority_life=30 * DAY))
    authority = made.authorities.current.certificate
    assert made.servers[HOST].certificate.not_valid_after_utc <= authority.not_valid_after_utc


def test_bundle_and_key_are_read_back():
    rotated = later(first(), 1, rotate=True)
    found = Authorities.load(rotated.authorities.bundle, rotated.authorities.current.key_pem)
    assert found.bundle == rotated.authorities.bundle
    assert found.current.key_pem == rotated.authorities.current.key_pem


def test_pair_that_does_not_belong_together_is_refused():
    one, other = first().servers[HOST], first().servers[HOST]
    with pytest.raises(ValueError, match="not the certificate's"):
        Pair.load(one.certificate_pem, other.key_pem)
