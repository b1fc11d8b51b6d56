"""Messages to Slack, by dlt's import path."""

from penstock.compat.slack import send_slack_message

__all__ = ["send_slack_message"]
