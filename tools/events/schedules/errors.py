"""Errors of schedules."""

from tools.kernel.errors import TakenAlready, WrongState


class ScheduleLimit(TakenAlready):
    """The agent has as many active schedules as allowed."""

    code = "schedule_limit"
    usual_hint = "Delete or pause one first; list_schedules with status active shows them."


class ScheduleDone(WrongState):
    """A schedule that is done cannot start again."""

    code = "schedule_done"
    usual_hint = "Make a new one with create_schedule."
