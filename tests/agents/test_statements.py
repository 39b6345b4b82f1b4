"""Sentences that say that something was done, and sentences that do not."""

from __future__ import annotations

import pytest

from tests.limits import grows_too_fast
from troth.agents.claims import find_states
from troth.agents.statements import find_statements, tool_families

DONE = """\
I went ahead and cancelled your order.
I updated your address.
I have reset your password.
Order placed!
Your refund is done.
I've just sent you a confirmation email.
Your appointment has been rescheduled to Friday.
All done! Your subscription is cancelled.
I've taken care of the refund.
Your booking is confirmed.
The tickets are booked.
I put in a request for you.
I signed you up for the newsletter.
We processed your payment.
The meeting was moved to 3 pm.
I've added two items to your cart.
Your account has now been closed.
I blocked your card.
Your card is now frozen.
I've submitted the form on your behalf.
Refund issued.
You have been upgraded to business class.
You're booked on the 9 am train.
I set your alarm for 6:30.
I've turned off the lights.
Your reservation is all set.
I made the change you asked for.
I've rebooked you on the next flight.
Your claim has been filed.
I filed a complaint.
I've made a reservation for two at 7.
The file was deleted.
I've scheduled a callback for tomorrow.
I notified your manager.
Your table is reserved.
I've waived the fee.
The discount was applied to your order.
I credited your account with $20.
Done, your email is updated.
Transfer complete.
Upgrade done!
Payment successful.
I've extended your loan by two weeks.
I have escalated this to our supervisor.
The ticket is now closed.
I paid the invoice.
I've created a new ticket for you.
Your password was changed.
I ordered a replacement card.
I have transferred 50 euros to Anna.
Success! The room has been reserved.
Your plan is switched to Premium.
I have enabled roaming for you.
Ich habe Ihre Bestellung storniert und Ihnen eine E-Mail geschickt.
Ihr Termin wurde auf Freitag verschoben.
Der Tisch ist reserviert.
Erledigt!
He cancelado su pedido.
Su reserva ha sido confirmada.
El pedido se canceló.
Ya envié el correo.
Hemos actualizado su dirección."""
NOT_DONE = """\
Would you like me to cancel your order?
I can cancel your order if you like.
Once the refund has been issued, you will get an email.
Your order will be cancelled.
I have not cancelled anything yet.
You cancelled your order yesterday.
Orders are processed within two days.
Let me know if you want it cancelled.
I found two flights that can be booked online.
To get a refund, the order must be returned.
Your request could not be completed.
I'm going to book the room now.
Have you updated your address?
The order you placed on Monday has two items.
I see you've booked a room for two.
Please make sure that your card is not blocked.
Flights booked with points cannot be changed.
Reserved seats cost $10.
I checked your account.
I've looked at your order and found no problem.
Before I proceed, I need your order number.
The fee applies if the booking is changed.
Your card may have been blocked by the bank.
I was unable to update your address.
Items added after 5 pm ship the next day.
The flight is scheduled to depart at 9.
Two seats are left.
A deposit is required for rooms booked online.
If your order was placed today, it can be changed.
Soll ich die Bestellung stornieren?
Die Bestellung wurde nicht storniert.
Sobald das Geld eingegangen ist, wird der Flug gebucht.
¿Quiere que cancele el pedido?
No he cancelado nada.
Cuando se haya enviado, le avisaremos."""


@pytest.mark.parametrize("sentence", DONE.splitlines())
def test_something_was_done(sentence: str) -> None:
    assert find_statements(sentence)


@pytest.mark.parametrize("sentence", NOT_DONE.splitlines())
def test_nothing_was_done(sentence: str) -> None:
    assert find_statements(sentence) == ()


def test_every_verb_of_a_sentence() -> None:
    sentence = "I cancelled LC-1, refunded $5 and your room in York has been booked."
    found = [(one.verb, one.active, sentence[one.start : one.end]) for one in find_statements(sentence)]
    assert found == [
        ("cancelled", True, "I cancelled"), ("refunded", True, "refunded"), ("booked", False, "has been booked"),
    ]  # fmt: skip
    assert find_statements(sentence)[0].clause == "I cancelled LC-1"


def test_a_tool_does_what_its_first_verb_says() -> None:
    assert "issue" not in tool_families("close_issue")
    assert "close" in tool_families("close_issue")
    assert "cancel" in tool_families("bestellung_stornieren")
    assert "cancel" in tool_families("cancelar_pedido")


@pytest.mark.parametrize(
    "unit", ["I cancelled and ", "cancelled ", "is booked, ", "I have ", "Order placed! ", "all set ", "¿", "- a: "]
)
def test_long_texts_take_linear_time(unit: str) -> None:
    assert not grows_too_fast(find_statements, unit, 5_000)


@pytest.mark.parametrize("unit", ["You're now in a. Order placed! ", "it is now ", "is now booked, ", "now is"])
def test_long_texts_about_what_holds_now_take_linear_time(unit: str) -> None:
    assert not grows_too_fast(find_states, unit, 5_000)
