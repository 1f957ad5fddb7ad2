"""Campaigns: many cases of one simulation or function, sampled from distributions, stored as they finish."""

from limber.campaigns.result import Campaign
from limber.campaigns.running import campaign, make_study, run
from limber.campaigns.sensitivity import Sensitivity
from limber.campaigns.study import Study
from limber.campaigns.study_file import load_study, schema

__all__ = [
    "Campaign",
    "Sensitivity",
    "Study",
    "campaign",
    "load_study",
    "make_study",
    "run",
    "schema",
]
