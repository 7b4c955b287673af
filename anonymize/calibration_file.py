"""A calibration as a JSON file: made by `calibrate`, read by `build`.

It holds numbers, feature names, public model names and the tokenizer's; nothing of a prompt. The report lies beside the
fits, so that whoever finds the file also finds how good it is; reading ignores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from anonymize.assessment import Assessment, Ratios
from anonymize.calibration import Calibration, Fit, Provider
from anonymize.features import FEATURES, TEXT_ROLES
from anonymize.reuse import Reuse
from corpus.errors import InputError
from corpus.tokenizer import Tokenizer

_FAMILY: Final = "agentreel-calibration-"
_FORMAT: Final = f"{_FAMILY}2"
_PROVIDERS: Final[tuple[Provider, ...]] = ("anthropic", "openai")
_ADVICE: Final = "make it with `agentreel calibrate CAPTURES -o FILE`"


def calibration_json(calibration: Calibration, report: Mapping[str, object], created_by: str) -> dict[str, object]:
    return {
        "format": _FORMAT,
        "created_by": created_by,
        "tokenizer": calibration.tokenizer,
        "tokenizer_sha256": calibration.tokenizer_sha256,
        "models": {name: _fit_json(fit) for name, fit in calibration.models.items()},
        "providers": {name: _fit_json(fit) for name, fit in calibration.providers.items()},
        "report": report,
    }


def report_json(assessments: Mapping[str, Assessment], reuse: Mapping[str, Reuse]) -> dict[str, object]:
    """Per model: requests, their sessions, per stage the ratios and shares, and prefix reuse where the provider told.

    No stages: nothing held out.
    """
    return {
        model: {"requests": one.requests, "sessions": one.sessions, "small_requests_left_out": one.small}
        | {stage: _ratios_json(ratios) for stage, ratios in one.stages.items()}
        | ({"reuse": _reuse_json(reuse[model])} if model in reuse else {})
        for model, one in assessments.items()
    }


def _ratios_json(ratios: Ratios) -> dict[str, float]:
    return (
        {f"p{p}": round(ratio, 5) for p, ratio in ratios.percentiles.items()}
        | {f"within_{w}": round(share, 5) for w, share in ratios.within.items()}
        | {"token_weighted": round(ratios.token_weighted, 5)}
    )


def _reuse_json(reuse: Reuse) -> dict[str, object]:
    return {
        "requests": reuse.requests,
        "unread": reuse.unread,
        "predicted_tokens": reuse.predicted_tokens,
        "read_tokens": reuse.read_tokens,
        "predicted_to_read": None if reuse.ratios is None else _ratios_json(reuse.ratios),
    }


def read_calibration_report(path: Path) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The report of a calibration file, for `report`, and who made it with which tokenizer; None for any other file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if _FAMILY.encode() not in file.read(200):  # it stands first; other files may be large
            return None
    try:
        value = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("report"), dict):
        return None
    return value["report"], {name: str(value.get(name)) for name in ("created_by", "tokenizer", "tokenizer_sha256")}


def read_calibration(path: Path, tokenizer: Tokenizer) -> Calibration:
    """InputError when it is no calibration, or one for counts of another tokenizer."""
    try:
        value = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise InputError(path, "is no calibration of this version", _ADVICE)
    if value.get("tokenizer_sha256") != tokenizer.sha256:
        name = value.get("tokenizer")
        raise InputError(path, f"was made with the tokenizer {name}, not {tokenizer.name}", f"give --tokenizer {name}")
    try:
        models = {str(name): _fit(one) for name, one in value["models"].items()}
        providers = {name: _fit(value["providers"][name]) for name in _PROVIDERS if name in value["providers"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(path, f"is a broken calibration ({error})", _ADVICE) from error
    return Calibration(tokenizer.name, tokenizer.sha256, models, providers)


def _fit_json(fit: Fit) -> dict[str, object]:
    return {
        "requests": fit.requests,
        "sessions": fit.sessions,
        "scale": fit.scale,
        "coefficients": dict(zip(FEATURES, fit.coefficients.tolist(), strict=True)),
        "spread": dict(fit.spread),
    }


def _fit(value: Any) -> Fit:
    coefficients = np.array([float(value["coefficients"][name]) for name in FEATURES])
    spread = {role: float(value["spread"][role]) for role in TEXT_ROLES if role in value["spread"]}
    numbers = [*coefficients.tolist(), *spread.values(), scale := float(value["scale"])]
    if not np.isfinite(numbers).all() or min(numbers) < 0 or min([*spread.values(), scale]) <= 0:
        raise ValueError("a coefficient is out of range")
    return Fit(int(value["requests"]), int(value["sessions"]), scale, coefficients, spread)
