/** Everything in a workspace goes with it. Issues go with their project, comments with their issue. */
export const options: FunctionOptions = { retries: 5 };

export const onDelete: OnDelete<"workspaces"> = async ({ record, db }) => {
  for (const name of ["invitations", "projects", "members"] as const) {
    const inside = await db.query<{ id: string }>(`SELECT id FROM ${name} WHERE workspace = ?`, [record.id]);
    for (const { id } of inside) await db.collection(name).delete(id);
  }
};
