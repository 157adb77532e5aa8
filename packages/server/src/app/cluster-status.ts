/** Commands that ask or tell the journal of a cluster, also when no instance runs: the status, and the files in force. */
import type { Config } from "../base/config/index.ts";
import { messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { type ClusterStatus, clusterStatus } from "../edge/cluster/index.ts";
import type { MirrorState } from "../operate/mirror/index.ts";
import { ChainBroken, JournalAway, openJournal } from "../store/journal/index.ts";
import { checkConfig } from "./cluster.ts";

type ClusterSettings = { readonly config: Config; readonly logger: Logger };

/** The state of the cluster of a configuration, also without an instance. @throws SetupError with one line. */
export async function statusOfCluster({
  config,
  logger,
}: ClusterSettings): Promise<ClusterStatus & { mirror: MirrorState | null }> {
  const journal = openJournal({ url: checkConfig(config).journal, cluster: config["cluster.name"], logger });
  try {
    await journal.open(false);
    const { mirrorStateOf } = await import("../operate/mirror/index.ts");
    return { ...(await clusterStatus(journal)), mirror: await mirrorStateOf(journal, config["cluster.name"]) };
  } catch (thrown) {
    throw asSetup(thrown);
  } finally {
    await journal.close();
  }
}

/** A failure of the journal, as a line for a command. */
function asSetup(thrown: unknown): unknown {
  const isLine = thrown instanceof JournalAway || thrown instanceof ChainBroken;
  return isLine ? new SetupError(`cluster.journal: ${messageOf(thrown)}`) : thrown;
}

/** Puts the files of an instance in force: a leader with other files hands over. Answers the files. @throws SetupError for an instance that does not run. */
export async function leadWithFiles({ config, logger }: ClusterSettings, name: string): Promise<string> {
  const journal = openJournal({ url: checkConfig(config).journal, cluster: config["cluster.name"], logger });
  try {
    await journal.open(false);
    const instances = await journal.instances();
    const files = instances.find((each) => each.isLive && each.name === name)?.files ?? null;
    const names = instances.filter(({ isLive }) => isLive).map((each) => each.name);
    if (files === null)
      throw new SetupError(
        `${name}: is no running instance; running: ${names.join(", ") || "none"} (socle cluster status)`,
      );
    await journal.addFiles(files);
    return files;
  } catch (thrown) {
    throw asSetup(thrown);
  } finally {
    await journal.close();
  }
}
