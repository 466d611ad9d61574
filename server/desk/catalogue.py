"""The services of the desk, in the order of the contract's table."""

from server.desk.service import Service
from server.desk.services import classify, extract_structured, extract_web, summarize, translate, validate_json

SERVICES: dict[str, Service] = {
    module.SERVICE.name: module.SERVICE
    for module in (validate_json, extract_web, classify, translate, extract_structured, summarize)
}
