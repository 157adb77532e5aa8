// Runs s3rver with Node.js, the runtime of s3rver. Arguments: a folder and a bucket; prints its address.
import S3rver from "s3rver";

const [, , directory, bucket] = process.argv;
const server = new S3rver({
  port: 0,
  address: "127.0.0.1",
  silent: true,
  directory,
  configureBuckets: [{ name: bucket, configs: [] }],
});
const { port } = await server.run();
console.log(`http://127.0.0.1:${port}`);
