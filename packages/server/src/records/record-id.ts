/** The form of the ids of records. A text of another form is none. */
const pattern = /^rec_[0-9a-f-]{36}$/;

export function isRecordId(text: string): boolean {
  return pattern.test(text);
}
