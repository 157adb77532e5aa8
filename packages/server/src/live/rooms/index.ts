/** Rooms: members with states and messages between members, which nothing stores: definitions, rights, bounds, and other processes. */
export type { Membership, Room, RoomLink, RoomNews, RoomSocket } from "./room.ts";
export { type RoomFile, readRoom, readRooms, roomFolder, roomPaths } from "./room-files.ts";
export { policiesOf } from "./room-rights.ts";
export { RoomError, Rooms } from "./rooms.ts";
