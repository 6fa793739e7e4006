// Runs a bundle in Vercel's Edge Runtime.
import { readFileSync } from "node:fs";
import { EdgeRuntime } from "edge-runtime";

const [script, given] = process.argv.slice(2);
const runtime = new EdgeRuntime();
runtime.evaluate(readFileSync(script, "utf8"));
console.log(JSON.stringify(await runtime.evaluate(`bundle.exercise(${given})`)));
