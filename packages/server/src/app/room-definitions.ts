/** The definitions of rooms: checked against the collections at the start, read again in development and by `reload`. */
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import type { Realtime } from "../live/realtime/index.ts";
import { policiesOf, type RoomFile, readRoom, readRooms, roomPaths } from "../live/rooms/index.ts";
import { userTable } from "../people/auth/index.ts";
import type { Service } from "./service.ts";

/** @throws SetupError with the file and the reason for a rule that does not fit the collections. */
export function checkRooms(rooms: readonly RoomFile[], definitions: readonly CollectionDefinition[]): void {
  const byName = new Map(definitions.map((definition) => [definition.name, definition]));
  for (const room of rooms) policiesOf(room, { users: userTable, definition: (name) => byName.get(name) });
}

/** Every fault of the definitions of a project, with the file. */
export async function roomFaults(config: Config, definitions: readonly CollectionDefinition[]): Promise<string[]> {
  const faults = roomPaths(config.folder).map(async (path): Promise<string[]> => {
    try {
      checkRooms([await readRoom(path)], definitions);
      return [];
    } catch (thrown) {
      if (thrown instanceof SetupError) return [thrown.message];
      throw thrown;
    }
  });
  return (await Promise.all(faults)).flat();
}

interface LoadedRooms {
  readonly config: Config;
  readonly realtime: Pick<Realtime, "rooms">;
  readonly service: Pick<Service, "collections">;
  readonly logger: Logger;
}

/** Reads the definitions again. The former definitions stay when a file has a fault. */
export async function reloadRooms({ config, realtime, service, logger }: LoadedRooms): Promise<void> {
  try {
    const rooms = await readRooms(config.folder);
    checkRooms(
      rooms,
      service.collections.all().map(({ definition }) => definition),
    );
    realtime.rooms.load(rooms);
  } catch (thrown) {
    logger.error(`Rooms stay as they are: ${messageOf(thrown)}`);
  }
}
