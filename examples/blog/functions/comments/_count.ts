/**
 * Writes down the number of a post's comments. Comments come at the same time, so the function counts again after the
 * write: the last write is then true.
 */
export async function countComments(db: SocleDatabase, post: string): Promise<void> {
  const count = async (): Promise<number> => {
    const [row] = await db.query<{ n: number }>("SELECT count(*) AS n FROM comments WHERE post = ?", [post]);
    return row?.n ?? 0;
  };
  for (let written = -1, n = await count(); n !== written; n = await count()) {
    if ((await db.collection("posts").get(post)) === null) return;
    await db.collection("posts").update(post, { commentCount: n });
    written = n;
  }
}
