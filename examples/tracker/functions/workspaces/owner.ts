/** The creator of a workspace becomes its owner. A second run finds the membership of the first. */
export const options: FunctionOptions = { retries: 5 };

export const onCreate: OnCreate<"workspaces"> = async ({ record, db, auth }) => {
  if (auth.user === null) return;
  if ((await db.members.where({ workspace: record.id }).first()) !== null) return;
  await db.members.create({ workspace: record.id, user: auth.user.id, role: "owner" });
};
