/** The other process of the test of links: sends each frame back. */
import { Link } from "../src/base/channel/index.ts";

const link = await Link.open(3, {
  onFrame: ({ kind, id, head, body }) => link.send({ kind, id, head, body }),
  onClosed: () => process.exit(0),
  onError: () => process.exit(1),
});
