/** The parameters of a page of a list of the admin API. */
/** A part of a list. */
export interface PageQuery {
  /** 50 unless said otherwise, 1,000 at most. */
  limit?: number | undefined;
  /** Counts from 0. */
  offset?: number | undefined;
}
