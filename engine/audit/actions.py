"""Name the action that the audit records when a step or an instance changes its status."""

from engine.kernel.transitions import InstanceStatus, StepStatus

ACTION_OF_STEP = {
    StepStatus.PENDING: "hold_step",
    StepStatus.RUNNING: "execute_step",
    StepStatus.SUCCESS: "complete_step",
    StepStatus.FAILED: "fail_step",
    StepStatus.SKIPPED: "skip_step",
    StepStatus.RETRYING: "retry_step",
    StepStatus.TIMED_OUT: "expire_step",
    StepStatus.CANCELLED: "cancel_step",
    StepStatus.COMPENSATED: "compensate_step",
}

ACTION_OF_STATUS = {
    InstanceStatus.COMPLETED: "complete_workflow",
    InstanceStatus.FAILED: "fail_workflow",
    InstanceStatus.CANCELLED: "cancel_workflow",
    InstanceStatus.EXPIRED: "expire_workflow",
    InstanceStatus.INCIDENT: "raise_incident",
    InstanceStatus.RUNNING: "resume_workflow",
}
