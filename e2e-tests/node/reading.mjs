// What is told of a server that takes connections and answers none. Arguments: reading.js, milliseconds to wait.
import { createServer } from "node:net";
import { pathToFileURL } from "node:url";

const [module, millis] = process.argv.slice(2);
const silent = createServer(() => {}).listen(0, "127.0.0.1", async () => {
  const { ReadAgain } = await import(pathToFileURL(module).href);
  const reading = new ReadAgain(
    () => `http://127.0.0.1:${silent.address().port}/actuator/workers`,
    (told) => say({ told }),
    (why) => say({ why }),
    Number(millis),
  );
  globalThis.window = globalThis;
  reading.open();

  function say(what) {
    console.log(JSON.stringify(what));
    reading.close();
    process.exit(0);
  }
});
