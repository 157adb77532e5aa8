/** The creator of a workspace becomes its owner. A second run finds the membership of the first. */
export const options: FunctionOptions = { retries: 5 };

export const onCreate: OnCreate<"workspaces"> = async ({ record, db, auth }) => {
  if (auth.user === null) return;
  const [member] = await db.query("SELECT id FROM members WHERE workspace = ?", [record.id]);
  if (member !== undefined) return;
  await db.collection("members").create({ workspace: record.id, user: auth.user.id, role: "owner" });
};
