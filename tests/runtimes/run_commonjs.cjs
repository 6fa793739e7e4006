// The client as CommonJS of Node.js.
const { exercise } = require("./build/exercise.cjs");

exercise(JSON.parse(process.argv[2])).then((lines) => {
  console.log(JSON.stringify(lines));
  process.exit();
});
