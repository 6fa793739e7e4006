// The client in a test of Jest, which loads it as CommonJS.
const { exercise } = require("./build/exercise.cjs");

test("it works", async () => {
  const { GIVEN, EXPECTED } = process.env;
  expect(await exercise(JSON.parse(GIVEN))).toEqual(JSON.parse(EXPECTED));
}, 120_000);
