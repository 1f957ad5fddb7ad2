"""Campaigns: many cases of one simulation or function, drawn from distributions, stored as they finish."""

from limber.campaigns.campaign import make_study, campaign, run
from limber.campaigns.result import Campaign
from limber.campaigns.sensitivity import Sensitivity
from limber.campaigns.study import Study
from limber.campaigns.study_file import load_study

__all__ = ["Campaign", "Sensitivity", "Study", "make_study", "campaign", "load_study", "run"]
