"""Errors of the faucet of test money."""

from tools.kernel.errors import PaymentProblem, TakenAlready, WrongState


class FaucetTestOnly(WrongState):
    """Test money is given on test."""

    code = "faucet_test_only"
    usual_hint = "Call with your test key (as_test_…). Live USDC is bought, or earned by selling here."


class FaucetClaimedToday(TakenAlready):
    """An agent is given test money once in a day of UTC."""

    code = "faucet_claimed_today"
    usual_hint = (
        "Call again after details.next_claim_at. get_faucet shows the last claim. You can also earn by selling."
    )


class FaucetUnavailable(PaymentProblem):
    """The faucet did not answer, or gave nothing."""

    status, code, retryable = 502, "faucet_unavailable", True
    usual_hint = "Try again in a minute."
