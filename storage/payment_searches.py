"""Queries of the searches for gas-free payments."""

from sqlalchemy import bindparam, update

from storage.query import Query
from storage.statements import delete_where, first_rows, in_json_list, matching
from storage.tables.payments import PaymentSearchRow

open_searches: Query[PaymentSearchRow] = first_rows(
    PaymentSearchRow, *matching(PaymentSearchRow.env), by=(PaymentSearchRow.valid_before, PaymentSearchRow.job_id)
)
_table = PaymentSearchRow.__table__
claim_searches: Query[str] = Query(
    update(_table)
    .where(in_json_list(PaymentSearchRow.job_id, "job_ids"), PaymentSearchRow.look_at <= bindparam("now"))
    .values(look_at=bindparam("leased_until"))
    .returning(PaymentSearchRow.job_id)
)
note_searched: Query[None] = Query(
    update(_table)
    .where(
        *matching(PaymentSearchRow.job_id, PaymentSearchRow.nonce), PaymentSearchRow.scanned_to <= bindparam("place")
    )
    .values(scanned_to=bindparam("place"), look_at=bindparam("next_look"))
)
end_search = delete_where(
    PaymentSearchRow, *matching(PaymentSearchRow.job_id, PaymentSearchRow.nonce, PaymentSearchRow.valid_before)
)
end_search_of_job = delete_where(PaymentSearchRow, *matching(PaymentSearchRow.job_id))
