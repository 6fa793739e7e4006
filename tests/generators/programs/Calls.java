// A client made by openapi-generator, java with the library native; see ../generated.py.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.FilesApi;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.api.UploadsApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.EndpointIn;
import org.openapitools.client.model.FileObject;
import org.openapitools.client.model.MessageIn;
import org.openapitools.client.model.MessageShape;
import org.openapitools.client.model.UploadCreatedShape;
import org.openapitools.client.model.UploadIn;

public class Calls {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> env = System.getenv();
    String order = env.get("ORDER");
    ApiClient api = new ApiClient();
    api.updateBaseUri(env.get("AGENTPOST_URL"));
    api.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + env.get("AGENTPOST_KEY")));
    MessagesApi messages = new MessagesApi(api);
    WebhooksApi webhooks = new WebhooksApi(api);
    UploadsApi uploads = new UploadsApi(api);

    MessageIn body = new MessageIn().message(env.get("MESSAGE")).metadata(Map.of("order", order));
    MessageShape first = messages.createMessage(body, 0, order, null);
    MessageIn other = new MessageIn().message("Hello").metadata(Map.of("order", "another"));
    messages.createMessage(other, null, null, null);
    MessageShape last = first;
    while (!last.getFinal()) last = messages.getMessage(first.getId(), 20, null);

    List<String> listed =
        messages
            .listMessages(
                null, null, null, null, first.getCreatedAt(), null, List.of("order=" + order))
            .getData()
            .stream()
            .map(each -> each.getId())
            .toList();
    EndpointIn endpoint = new EndpointIn().url(URI.create("https://receiver.invalid/hook"));
    endpoint.addEventsItem(EndpointIn.EventsEnum.MESSAGE_COMPLETED);
    String hook = webhooks.createWebhookEndpoint(endpoint).getId();
    boolean deleted = webhooks.deleteWebhookEndpoint(hook).getDeleted();

    UploadCreatedShape ticket = uploads.createUpload(new UploadIn().filename("a.csv").size(4));
    send(multipart(ticket));
    String upload = uploads.completeUpload(ticket.getUploadId()).getStatus().getValue();

    FileObject file = new FilesApi(api).getFile(last.getFiles().get(0).getFileId());
    String text = send(HttpRequest.newBuilder(URI.create(file.getUrl())).build());
    // This library reads every text as JSON, so it cannot read the stream.
    String address = env.get("AGENTPOST_URL") + "/v1/messages/" + first.getId() + "/stream";
    String stream =
        send(
            HttpRequest.newBuilder(URI.create(address))
                .header("Authorization", "Bearer " + env.get("AGENTPOST_KEY"))
                .build());
    String error;
    try {
      messages.getMessage("msg_" + "0".repeat(32), null, null);
      error = "none";
    } catch (ApiException refused) {
      String code = new ObjectMapper().readTree(refused.getResponseBody()).get("error").asText();
      error = refused.getCode() + " " + code;
    }

    Map<String, Object> results = new LinkedHashMap<>();
    results.put("status", last.getStatus().getValue());
    results.put("listed", listed.equals(List.of(first.getId())));
    results.put("deleted", deleted);
    results.put("upload", upload);
    results.put("file", file.getName() + " " + text);
    results.put("streamed", stream.contains("event: end"));
    results.put("error", error);
    System.out.println(new ObjectMapper().writeValueAsString(results));
  }

  private static String send(HttpRequest request) throws Exception {
    HttpResponse<String> answer =
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() >= 300) throw new IllegalStateException(answer.body());
    return answer.body();
  }

  private static HttpRequest multipart(UploadCreatedShape ticket) {
    StringBuilder form = new StringBuilder();
    ticket
        .getFields()
        .forEach((name, value) -> form.append(part("name=\"" + name + "\"")).append(value));
    form.append(part("name=\"file\"; filename=\"a.csv\"")).append("a,b\n\r\n--border--\r\n");
    return HttpRequest.newBuilder(URI.create(ticket.getUrl()))
        .header("Content-Type", "multipart/form-data; boundary=border")
        .POST(HttpRequest.BodyPublishers.ofString(form.toString()))
        .build();
  }

  private static String part(String disposition) {
    return "\r\n--border\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n";
  }
}
