// The client as a module of Node.js, Bun and Deno.
import { exercise } from "./exercise.js";

console.log(JSON.stringify(await exercise(JSON.parse(process.argv[2]))));
process.exit();
