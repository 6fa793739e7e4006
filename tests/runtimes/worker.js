// The client in a Cloudflare Worker.
import { exercise } from "./exercise.js";

export default {
  async fetch(_, given) {
    return Response.json(await exercise(given));
  },
};
