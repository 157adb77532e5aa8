/**
 * Makes a user with the token of an invitation a member. An invitation works once: the membership keeps the invitation's
 * id, which is unique.
 */
export const options: FunctionOptions = { retries: 5 };

export const onCreate: OnCreate<"joins"> = async ({ record, auth, db }) => {
  if (auth.user === null) return;
  const isMember = await join(record.token, auth.user, db);
  await db.joins.update(record.id, { outcome: isMember ? "accepted" : "refused" });
};

async function join(token: string, user: SocleUser, db: SocleDatabase): Promise<boolean> {
  const invitation = await db.invitations.where({ token, expiresAt: { gt: new Date() } }).first();
  if (invitation === null || !(await isOfOwner(invitation, db))) return false;
  const { id, workspace, role, email } = invitation;
  if (email !== null && email.trim().toLowerCase() !== user.email) return false;
  const own = db.members.where({ workspace, user: user.id });
  if ((await own.first()) === null)
    await db.members.create({ workspace, user: user.id, role, invitation: id }).catch(ignore("validation_error"));
  const member = await own.first();
  // A user who is a member already leaves the invitation to others.
  if (member?.invitation === id) await db.invitations.delete(id);
  return member !== null;
}

/** Whether the maker of an invitation is still an owner: the rule of invitations lets owners of the workspace read. */
async function isOfOwner({ id, inviter }: RecordOf<"invitations">, db: SocleDatabase): Promise<boolean> {
  const seen = await db.as(inviter).invitations.where({ id }).first().catch(ignore("unauthorized"));
  return seen !== null;
}

/** Ignores a refusal: another user was quicker with the invitation, or the account of the maker was deleted. */
function ignore(code: ServiceErrorCode): (error: unknown) => null {
  return (error) => {
    if ((error as ServiceError).code !== code) throw error;
    return null;
  };
}
