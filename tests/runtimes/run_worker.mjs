// Runs a bundled worker in workerd, the runtime of Cloudflare Workers.
import { Miniflare } from "miniflare";

const [scriptPath, given] = process.argv.slice(2);
const miniflare = new Miniflare({
  modules: true,
  scriptPath,
  bindings: JSON.parse(given),
  compatibilityDate: "2026-07-01",
});
const answer = await miniflare.dispatchFetch("http://worker.test/");
console.log(await answer.text());
await miniflare.dispose();
