// What is told of a server that takes a connection and answers nothing, and the next time answers. Arguments:
// reading.js, milliseconds to wait.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [module, millis] = process.argv.slice(2);
let asked = 0;
const server = createServer((_, answer) => {
  if (++asked > 1) answer.end("{}");
}).listen(0, "127.0.0.1", async () => {
  const { ReadAgain } = await import(pathToFileURL(module).href);
  const seen = [];
  const reading = new ReadAgain(
    () => `http://127.0.0.1:${server.address().port}/actuator/workers`,
    (told) => {
      console.log(JSON.stringify([...seen, { told }]));
      process.exit(0);
    },
    (why) => seen.push({ why }),
    Number(millis),
  );
  globalThis.window = globalThis;
  reading.open();
});
