/**
 * Makes a user with the token of an invitation a member. An invitation works once: the membership keeps the invitation's
 * id, which is unique.
 */
export const options: FunctionOptions = { retries: 5 };

interface Invitation {
  id: string;
  workspace: string;
  role: "member" | "guest";
  email: string | null;
}

export const onCreate: OnCreate<"joins"> = async ({ record, auth, db }) => {
  if (auth.user === null) return;
  const isMember = await join(record.token, auth.user, db);
  await db.joins.update(record.id, { outcome: isMember ? "accepted" : "refused" });
};

async function join(token: string, user: SocleUser, db: SocleDatabase): Promise<boolean> {
  const invitation = await find(token, db);
  if (invitation === undefined) return false;
  const { id, workspace, role, email } = invitation;
  if (email !== null && email.trim().toLowerCase() !== user.email) return false;
  const membership = async (): Promise<{ invitation: string | null } | undefined> => {
    const sql = "SELECT invitation FROM members WHERE workspace = ? AND user = ?";
    return (await db.query<{ invitation: string | null }>(sql, [workspace, user.id]))[0];
  };
  if ((await membership()) === undefined)
    await db.members.create({ workspace, user: user.id, role, invitation: id }).catch(refuseUsed);
  const member = await membership();
  // A user who is a member already leaves the invitation to others.
  if (member?.invitation === id) await db.invitations.delete(id);
  return member !== undefined;
}

/** The invitation of a token, while the invitation lasts and its maker is still an owner. */
async function find(token: string, db: SocleDatabase): Promise<Invitation | undefined> {
  const sql = `SELECT invitations.id, invitations.workspace, invitations.role, invitations.email FROM invitations
    JOIN members ON members.workspace = invitations.workspace AND members.user = invitations._owner
    WHERE invitations.token = ? AND invitations.expiresAt > ? AND members.role = 'owner'`;
  return (await db.query<Invitation>(sql, [token, new Date().toISOString()]))[0];
}

/** Ignores the refusal when another user was quicker with the same invitation. */
function refuseUsed(error: unknown): void {
  if ((error as ServiceError).code !== "validation_error") throw error;
}
