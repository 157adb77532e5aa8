/** An invitation gets a token that no person can guess, and a week. */
export const options: FunctionOptions = { retries: 5 };

const weekMs = 7 * 24 * 3_600_000;

export const onCreate: OnCreate<"invitations"> = async ({ record, db }) => {
  // 244 random bits.
  const token = `${crypto.randomUUID()}${crypto.randomUUID()}`;
  const expiresAt = new Date(Date.parse(record.createdAt) + weekMs).toISOString();
  await db.invitations.update(record.id, { token, expiresAt });
};
